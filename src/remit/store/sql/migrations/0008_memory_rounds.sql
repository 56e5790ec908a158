-- Vectors come in rounds, which are counted: who holds codes in memory asks for those of later rounds alone.
alter table memory_model add column round integer not null default 0;
alter table memory_codes add column round integer not null default 0;
create index memory_codes_by_round on memory_codes (home, round);
