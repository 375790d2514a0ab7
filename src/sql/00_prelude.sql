/* src/sql/00_prelude.sql */

-- complain if the script is sourced in psql rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION ddir" to load this file. \quit

COMMENT ON SCHEMA ddir IS
	'views that keep themselves up to date: functions and state';

-- The handler is the server's own: a view's rows lie in an ordinary heap, and
-- the method's name is only the mark that says who keeps them current.
CREATE ACCESS METHOD ddir TYPE TABLE HANDLER pg_catalog.heap_tableam_handler;

COMMENT ON ACCESS METHOD ddir IS
	'heap whose materialized views are maintained incrementally by ddir';
