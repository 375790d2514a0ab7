/* src/sql/90_grants.sql: who may do what */

REVOKE ALL ON SCHEMA ddir FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA ddir FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ddir FROM PUBLIC;

GRANT USAGE ON SCHEMA ddir TO PUBLIC;

-- These look at the caller's rights on the view, or on the database.
GRANT EXECUTE ON FUNCTION ddir.wait(regclass, interval), ddir.check(regclass),
	ddir.repair(regclass), ddir.explain(regclass, text), ddir.explain_query(text),
	ddir.disable(), ddir.enable()
	TO PUBLIC;

-- Rows of views that the caller may select from.
GRANT SELECT ON ddir.views, ddir.hydration TO PUBLIC;
GRANT EXECUTE ON FUNCTION ddir._views(), ddir._hydration() TO PUBLIC;
GRANT EXECUTE ON FUNCTION ddir._view_clock(oid) TO PUBLIC;

GRANT SELECT ON ddir.workers, ddir.sources, ddir.arrangements, ddir.operators TO pg_monitor;
GRANT EXECUTE ON FUNCTION ddir._workers(), ddir._sources(), ddir._arrangements(), ddir._operators()
	TO pg_monitor;

-- Views compute with these as their owners.
GRANT EXECUTE ON FUNCTION ddir._single(anyelement), ddir._take(anyelement, anyelement),
	ddir._only(anyelement, bigint), ddir._asked(anyelement, text)
	TO PUBLIC;

-- ddir.check computes with these as the view's owner.
GRANT EXECUTE ON FUNCTION ddir._image("any"),
	ddir._first(anyelement), ddir._first(anyelement, anyelement),
	ddir._sum(real), ddir._sum(double precision),
	ddir._avg(real), ddir._avg(double precision),
	ddir._var_pop(real), ddir._var_pop(double precision),
	ddir._var_samp(real), ddir._var_samp(double precision),
	ddir._stddev_pop(real), ddir._stddev_pop(double precision),
	ddir._stddev_samp(real), ddir._stddev_samp(double precision)
	TO PUBLIC;
