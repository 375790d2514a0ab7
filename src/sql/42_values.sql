/* src/sql/42_values.sql: what the values of subqueries are computed with */

CREATE FUNCTION ddir._take(anyelement, anyelement) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_take';
CREATE AGGREGATE ddir._single(anyelement)
(
	SFUNC = ddir._take, STYPE = anyelement
);
COMMENT ON FUNCTION ddir._take(anyelement, anyelement) IS 'takes a value in place of another; internal';
COMMENT ON AGGREGATE ddir._single(anyelement) IS 'the value of one of the rows; internal';

CREATE FUNCTION ddir._only(anyelement, bigint) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_only';
COMMENT ON FUNCTION ddir._only(anyelement, bigint) IS
	'the value, or an error if it is one of several; internal';

CREATE FUNCTION ddir._asked(anyelement, text) RETURNS anyelement
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_single_asked';
COMMENT ON FUNCTION ddir._asked(anyelement, text) IS
	'the value, or the error that there is in its place; internal';
