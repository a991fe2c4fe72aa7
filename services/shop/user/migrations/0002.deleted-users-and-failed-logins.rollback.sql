DROP TABLE shop_user.failed_login;
DROP TABLE shop_shared.deleted_user;
DROP SCHEMA shop_shared;
