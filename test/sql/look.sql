-- CALL look(): all views are current and equal; says which were filled since it
-- was last called, and why, unless look.reasons is off.
CREATE TABLE seen (view regclass PRIMARY KEY, hydrations bigint);
CREATE PROCEDURE look() LANGUAGE plpgsql AS
$$DECLARE r record;
BEGIN
	PERFORM ddir.wait(timeout => '2 min');
	FOR r IN SELECT v.view, c.* FROM ddir.views v, ddir.check(v.view) c LOOP
		RAISE WARNING '%', r;
	END LOOP;
	FOR r IN SELECT reason, string_agg(view::text, ', ' ORDER BY view::text) AS views
			   FROM ddir.hydration AS h LEFT JOIN seen AS s USING (view)
			  WHERE h.hydrations > s.hydrations AND current_setting('look.reasons', true) IS DISTINCT FROM 'off'
			  GROUP BY reason ORDER BY reason LOOP
		RAISE INFO '%: %', r.views, r.reason;
	END LOOP;
	DELETE FROM seen;
	INSERT INTO seen SELECT view, hydrations FROM ddir.hydration;
END$$;
