-- Sessions that a client has ended, at whichever node: no node goes on with one, until its id has expired anyway.

create table ended_sessions (
    digest text collate "C" primary key, -- of the id
    ended_at bigint not null
);
create index ended_sessions_by_time on ended_sessions (ended_at);

create trigger ended_sessions_added after insert on ended_sessions
for each row execute function revise('sessions');

create policy scope on ended_sessions using ((select everywhere()));
alter table ended_sessions enable row level security;
alter table ended_sessions force row level security;
