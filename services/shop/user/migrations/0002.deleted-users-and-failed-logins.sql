-- Deleted accounts, and the number of recent failed logins. Runs as the schema's owner.
-- depends: 0001.accounts

-- The one table that services share. The user service adds an id in the statement that deletes the account; the order
-- and payment services look ids up in the statements that read orders and payments. Ids only, and no rights but these.
CREATE SCHEMA shop_shared;
CREATE TABLE shop_shared.deleted_user (id bigint PRIMARY KEY);
GRANT USAGE ON SCHEMA shop_shared TO shop_user, shop_order, shop_payment;
GRANT SELECT, INSERT ON shop_shared.deleted_user TO shop_user;
GRANT SELECT ON shop_shared.deleted_user TO shop_order, shop_payment;

-- One row for each address, of an account or not, with a recent failed login. Not logged: after a crash it may begin
-- anew, and a failed login need not wait for the disk.
CREATE UNLOGGED TABLE shop_user.failed_login (
    -- SHA-256 of the canonical e-mail address.
    address    bytea PRIMARY KEY CHECK (length(address) = 32),
    failures   integer NOT NULL CHECK (failures >= 1),
    -- When the failures are forgotten.
    expires_at timestamptz NOT NULL
);

CREATE INDEX failed_login_expired ON shop_user.failed_login (expires_at);
