-- What was deleted for its age, and how long a workspace keeps what.

alter table audit_anchors add column entries integer not null default 0; -- deleted so far; 0: not counted
alter table audit_anchors add column until integer; -- when the last of them was called
alter table configurations add column retention text not null default '{}';
