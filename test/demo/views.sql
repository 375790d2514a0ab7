CREATE MATERIALIZED VIEW by_section USING ddir AS
SELECT section, count(*) AS packages, sum(installed_size) AS installed_kib,
       sum(size) AS download_bytes, max(size) AS largest_bytes
  FROM package GROUP BY section;

CREATE MATERIALIZED VIEW by_maintainer USING ddir AS
SELECT maintainer, count(*) AS packages, count(DISTINCT section) AS sections,
       sum(size) AS download_bytes
  FROM package GROUP BY maintainer;

-- how many packages depend on each
CREATE MATERIALIZED VIEW needed USING ddir AS
SELECT p.name, p.section, count(DISTINCT d.package) AS dependants
  FROM package p JOIN dependency d ON d.depends_on = p.name
 GROUP BY p.name, p.section;

-- packages with dependencies in another section than their own
CREATE MATERIALIZED VIEW crossing USING ddir AS
SELECT a.name, a.section, d.kind, b.name AS depends_on,
       b.section AS depends_on_section
  FROM package a
  JOIN dependency d ON d.package = a.name
  JOIN package b ON b.name = d.depends_on
 WHERE a.section <> b.section;

-- a view over that view
CREATE MATERIALIZED VIEW section_ties USING ddir AS
SELECT section, depends_on_section, count(*) AS dependencies,
       count(DISTINCT name) AS packages
  FROM crossing GROUP BY section, depends_on_section;

-- packages nobody depends on
CREATE MATERIALIZED VIEW unneeded USING ddir AS
SELECT p.name, p.section, p.maintainer, p.size
  FROM package p
 WHERE NOT EXISTS (SELECT 1 FROM dependency d WHERE d.depends_on = p.name);

-- all of them whole and current
SELECT ddir.wait(timeout => '10 min') \g /dev/null
