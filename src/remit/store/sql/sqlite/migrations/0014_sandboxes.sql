-- The sandbox that a project declared for its server when the user trusted the server; null: none.
alter table trust add column sandbox text;
