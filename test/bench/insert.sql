\set region random(1, 100)
\set amount random(0, 1000)
INSERT INTO event (region, amount) VALUES (:region, :amount);
