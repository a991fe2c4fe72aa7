-- Technical documents: a row for each record, as a document is only ever read whole.
-- depends: 0002.stock-leaves-room

CREATE TABLE shop_product.document_record (
    document_id bigint           NOT NULL CHECK (document_id > 0),
    number      integer          NOT NULL CHECK (number > 0),
    section     text             NOT NULL,
    text        text             NOT NULL,
    count       bigint           NOT NULL CHECK (count > 0),
    value       double precision NOT NULL,
    ok          boolean          NOT NULL,
    at          timestamptz,
    price_minor bigint CHECK (price_minor > 0),
    currency    text,
    CHECK ((price_minor IS NULL) = (currency IS NULL)),
    PRIMARY KEY (document_id, number)
);
