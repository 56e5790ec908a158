-- How new a Remit must be to work on the schema after each migration; null: it must know that migration. So gateways
-- go on while others are upgraded, if nothing that they use has changed.
alter table schema_version add column oldest integer;
