\set region random(1, 100)
\set amount random(0, 1000)
\set number :number + 1
INSERT INTO event (region, amount, client, number) VALUES (:region, :amount, :client_id, :number);
