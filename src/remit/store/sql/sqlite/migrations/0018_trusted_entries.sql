-- What the user trusted, to show what changed since.

alter table trust add column entry text; -- one line for each part, without secrets; null: not known
