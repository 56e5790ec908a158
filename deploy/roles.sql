-- The users of the store, and its database; run by a superuser, before each `remit store init`, which adds the rest.
-- Variables: owner, app and boss, with the passwords.

set client_min_messages = warning; -- not what exists already
select format('create role %I login', name)
from unnest(array['remit_owner', 'remit_app', 'remit_boss']) name
where not exists (select from pg_roles where rolname = name) \gexec
alter role remit_owner password :'owner';
alter role remit_app password :'app';
alter role remit_boss password :'boss';

-- Remit works as these; the owner grants them to the other two users.
select format('create role %I nologin', name)
from unnest(array['remit_runtime', 'remit_admin']) name
where not exists (select from pg_roles where rolname = name) \gexec
grant remit_runtime, remit_admin to remit_owner with admin option;

select 'create database remit owner remit_owner'
where not exists (select from pg_database where datname = 'remit') \gexec
\connect remit
set client_min_messages = warning;
create extension if not exists vector schema public;
