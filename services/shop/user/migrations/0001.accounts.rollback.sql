DROP TABLE shop_user.account;
