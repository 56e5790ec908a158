-- Only a server's own list makes a tool that can be called. A tool of a server that no list ever defined was only
-- seen in use, and stays reported.
update tools set authority = 1
where kind = 'mcp_tool' and server_id is not null and authority = 3 and definition_id is null;
