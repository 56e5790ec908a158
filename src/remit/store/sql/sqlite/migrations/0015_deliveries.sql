-- The batches of calls that were recorded lately, so that none is recorded twice.
create table deliveries (
    id text primary key,
    delivered_at integer not null
);
create index deliveries_by_time on deliveries (delivered_at);
