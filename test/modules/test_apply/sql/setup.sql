--
-- The functions that drive targets, for all the other tests.
--
\getenv builddir PG_ABS_BUILDDIR
\set library :builddir '/test_apply.so'
CREATE FUNCTION push(view regclass, query text) RETURNS bigint LANGUAGE c AS :'library', 'test_apply_push';
CREATE FUNCTION error(view regclass, message text, diff bigint) RETURNS void LANGUAGE c AS :'library', 'test_apply_error';
CREATE FUNCTION state(view regclass) RETURNS text LANGUAGE c AS :'library', 'test_apply_state';
CREATE FUNCTION apply(view regclass) RETURNS text LANGUAGE c AS :'library', 'test_apply_apply';
CREATE FUNCTION reconcile(view regclass) RETURNS text LANGUAGE c AS :'library', 'test_apply_reconcile';
CREATE FUNCTION remap(view regclass) RETURNS text LANGUAGE c AS :'library', 'test_apply_remap';
CREATE FUNCTION forget(view regclass) RETURNS void LANGUAGE c AS :'library', 'test_apply_forget';
CREATE FUNCTION bytes(view regclass) RETURNS bigint LANGUAGE c AS :'library', 'test_apply_bytes';
CREATE FUNCTION contents(view regclass) RETURNS TABLE ("row" text, n bigint) LANGUAGE c AS :'library', 'test_apply_contents';
CREATE FUNCTION tidmap(steps int, tags int, skew float8, seed int) RETURNS text
  LANGUAGE c AS :'library', 'test_apply_tidmap';
CREATE ACCESS METHOD ddir TYPE TABLE HANDLER heap_tableam_handler;
