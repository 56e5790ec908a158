-- When a client declined to answer a question: perhaps for its user, perhaps because it has none. The call can
-- still be approved in a terminal.
alter table approvals add column declined_at integer;
