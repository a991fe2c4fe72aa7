REVOKE SELECT ON shop_shared.deleted_user FROM shop_notification;
REVOKE USAGE ON SCHEMA shop_shared FROM shop_notification;
DROP TABLE shop_notification.notification;
DROP TABLE shop_notification.mailbox;
