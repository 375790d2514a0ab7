-- the library, and the helpers of the other files
\set VERBOSITY terse
\getenv builddir PG_ABS_BUILDDIR
CREATE ACCESS METHOD ddir TYPE TABLE HANDLER heap_tableam_handler;
\set lib :builddir '/test_plan.so'
CREATE FUNCTION test_lower(text) RETURNS text AS :'lib' LANGUAGE C STRICT;
CREATE FUNCTION test_render(text) RETURNS text AS :'lib' LANGUAGE C STRICT;
CREATE FUNCTION test_facts(text) RETURNS text AS :'lib' LANGUAGE C STRICT;
CREATE FUNCTION test_refusals(OUT code text, OUT construct text, OUT reason text, OUT hint text)
  RETURNS SETOF record AS :'lib' LANGUAGE C STRICT;
