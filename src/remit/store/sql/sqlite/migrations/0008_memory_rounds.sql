-- Vectors are added in numbered rounds, so a process with codes in memory reads only those of later rounds.
alter table memory_model add column round integer not null default 0;
alter table memory_codes add column round integer not null default 0;
create index memory_codes_by_round on memory_codes (home, round);
