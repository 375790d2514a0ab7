\set id random(1, :rows)
\set delta random(-5, 5)
UPDATE sale SET amount = amount + :delta WHERE id = :id;
