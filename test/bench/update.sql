\set id random(1, :rows)
\set delta random(-500, 500)
UPDATE account SET balance = balance + :delta WHERE id = :id;
