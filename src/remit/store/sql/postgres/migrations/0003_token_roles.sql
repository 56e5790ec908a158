-- What the bearer of a token may do in its projects.
alter table tokens add column role text collate "C" not null default 'user'
check (role in ('reader', 'user', 'approver', 'admin'));
