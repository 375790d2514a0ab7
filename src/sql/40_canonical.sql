/* src/sql/40_canonical.sql: what ddir.check computes a view's query with */

-- Exact sums of floats, rounded once, as views hold them.
CREATE FUNCTION ddir._add(internal, real) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_float4';
CREATE FUNCTION ddir._add(internal, double precision) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_float8';
CREATE FUNCTION ddir._add_squares(internal, real) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_squares_float4';
CREATE FUNCTION ddir._add_squares(internal, double precision) RETURNS internal
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_add_squares_float8';

COMMENT ON FUNCTION ddir._add(internal, real) IS 'adds to an exact sum; internal';
COMMENT ON FUNCTION ddir._add(internal, double precision) IS 'adds to an exact sum; internal';
COMMENT ON FUNCTION ddir._add_squares(internal, real) IS
	'adds to an exact sum and one of squares; internal';
COMMENT ON FUNCTION ddir._add_squares(internal, double precision) IS
	'adds to an exact sum and one of squares; internal';

CREATE FUNCTION ddir._sum_float4(internal) RETURNS real
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_sum_float4';
CREATE AGGREGATE ddir._sum(real)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._sum_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._sum_float4(internal) IS 'sum(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._sum(real) IS 'sum(real), exact and rounded once; internal';

CREATE FUNCTION ddir._sum_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_sum_float8';
CREATE AGGREGATE ddir._sum(double precision)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._sum_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._sum_float8(internal) IS 'sum(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._sum(double precision) IS 'sum(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._avg_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_avg_float4';
CREATE AGGREGATE ddir._avg(real)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._avg_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._avg_float4(internal) IS 'avg(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._avg(real) IS 'avg(real), exact and rounded once; internal';

CREATE FUNCTION ddir._avg_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_avg_float8';
CREATE AGGREGATE ddir._avg(double precision)
(
	SFUNC = ddir._add, STYPE = internal, FINALFUNC = ddir._avg_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._avg_float8(internal) IS 'avg(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._avg(double precision) IS 'avg(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._var_pop_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_pop_float4';
CREATE AGGREGATE ddir._var_pop(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_pop_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_pop_float4(internal) IS 'var_pop(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_pop(real) IS 'var_pop(real), exact and rounded once; internal';

CREATE FUNCTION ddir._var_pop_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_pop_float8';
CREATE AGGREGATE ddir._var_pop(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_pop_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_pop_float8(internal) IS 'var_pop(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_pop(double precision) IS 'var_pop(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._var_samp_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_samp_float4';
CREATE AGGREGATE ddir._var_samp(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_samp_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_samp_float4(internal) IS 'var_samp(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_samp(real) IS 'var_samp(real), exact and rounded once; internal';

CREATE FUNCTION ddir._var_samp_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_var_samp_float8';
CREATE AGGREGATE ddir._var_samp(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._var_samp_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._var_samp_float8(internal) IS 'var_samp(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._var_samp(double precision) IS 'var_samp(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_pop_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_pop_float4';
CREATE AGGREGATE ddir._stddev_pop(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_pop_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_pop_float4(internal) IS 'stddev_pop(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_pop(real) IS 'stddev_pop(real), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_pop_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_pop_float8';
CREATE AGGREGATE ddir._stddev_pop(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_pop_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_pop_float8(internal) IS 'stddev_pop(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_pop(double precision) IS 'stddev_pop(double precision), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_samp_float4(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_samp_float4';
CREATE AGGREGATE ddir._stddev_samp(real)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_samp_float4,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_samp_float4(internal) IS 'stddev_samp(real) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_samp(real) IS 'stddev_samp(real), exact and rounded once; internal';

CREATE FUNCTION ddir._stddev_samp_float8(internal) RETURNS double precision
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_stddev_samp_float8';
CREATE AGGREGATE ddir._stddev_samp(double precision)
(
	SFUNC = ddir._add_squares, STYPE = internal, FINALFUNC = ddir._stddev_samp_float8,
	PARALLEL = safe
);
COMMENT ON FUNCTION ddir._stddev_samp_float8(internal) IS 'stddev_samp(double precision) of an exact sum; internal';
COMMENT ON AGGREGATE ddir._stddev_samp(double precision) IS 'stddev_samp(double precision), exact and rounded once; internal';

-- The image of a row: the order in which rows are taken that have no other.
CREATE FUNCTION ddir._image(VARIADIC "any") RETURNS bytea
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_image';

COMMENT ON FUNCTION ddir._image("any") IS 'the packed image of the arguments as a row; internal';

-- The first value of a group that is not null.  Strict: it starts with that.
CREATE FUNCTION ddir._first(anyelement, anyelement) RETURNS anyelement
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'ddir_exact_first';
CREATE AGGREGATE ddir._first(anyelement)
(
	SFUNC = ddir._first, STYPE = anyelement
);
COMMENT ON FUNCTION ddir._first(anyelement, anyelement) IS 'the first of two values; internal';
COMMENT ON AGGREGATE ddir._first(anyelement) IS 'the first value that is not null; internal';
