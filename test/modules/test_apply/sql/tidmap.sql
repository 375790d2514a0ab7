--
-- The map from hashes to places, against a plain list: few and many tags, with
-- and without some that have thousands of rows.
--
SELECT tags, skew, tidmap(200000, tags, skew, seed) AS map
  FROM (VALUES (1, 0), (3, 0), (50, 0.5), (5000, 0), (5000, 0.5), (100000, 0.1)) AS v(tags, skew),
       generate_series(1, 2) seed
  ORDER BY tags, skew, seed;
