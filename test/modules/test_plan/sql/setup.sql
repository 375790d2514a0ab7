--
-- The library, and the tables of the other files.
--
\set VERBOSITY terse
SET client_min_messages = warning;
-- the database of the tests stays, for the files after this one
\getenv builddir PG_ABS_BUILDDIR
\set lib :builddir '/test_plan.so'
CREATE ACCESS METHOD ddir TYPE TABLE HANDLER heap_tableam_handler;
CREATE FUNCTION test_lower(text) RETURNS text LANGUAGE c STRICT AS :'lib';
CREATE FUNCTION test_render(text) RETURNS text LANGUAGE c STRICT AS :'lib';
CREATE FUNCTION test_facts(text) RETURNS text LANGUAGE c STRICT AS :'lib';
CREATE FUNCTION test_refusals(OUT code text, OUT construct text, OUT reason text, OUT hint text)
  RETURNS SETOF record LANGUAGE c STRICT AS :'lib';
-- what the extension has for the values of subqueries
CREATE SCHEMA ddir;
CREATE FUNCTION ddir._take(anyelement, anyelement) RETURNS anyelement
  LANGUAGE c IMMUTABLE AS :'lib', 'ddir_single_take';
CREATE AGGREGATE ddir._single(anyelement) (SFUNC = ddir._take, STYPE = anyelement);
CREATE FUNCTION ddir._only(anyelement, bigint) RETURNS anyelement
  LANGUAGE c IMMUTABLE AS :'lib', 'ddir_single_only';
CREATE FUNCTION ddir._asked(anyelement, text) RETURNS anyelement
  LANGUAGE c IMMUTABLE AS :'lib', 'ddir_single_asked';

CREATE TABLE customers (id int PRIMARY KEY, name text, region text, note json, place point);
CREATE TABLE orders (id bigint PRIMARY KEY, customer int, amount numeric, day date,
                     at timestamptz, tags text[], status text);
CREATE TABLE items (order_id bigint, product int, quantity int, price float8);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE people (name name, mood mood, born date, weight float4, doc json, flag bool);

-- small tables for comparing rows: many NULLs and duplicates
CREATE TABLE a (x int, y int, z text, n numeric);
CREATE TABLE b (x int, y int, w text, s smallint);
CREATE TABLE c (k bigint, v text, f float8);
CREATE TABLE d (x int, y int, u name, g bool);
CREATE TABLE p (id int PRIMARY KEY, x int, j json, pt point);
-- numbers of columns that are not those of the first table's creation
ALTER TABLE b ADD COLUMN gone int;
ALTER TABLE b DROP COLUMN gone;
ALTER TABLE d ADD COLUMN gone int;
ALTER TABLE d DROP COLUMN gone, ADD COLUMN h int;
