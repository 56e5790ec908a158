-- Named queries for the audit log in PostgreSQL.

-- name: prepare_audit
select prepare_audit()
