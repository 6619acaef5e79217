-- Activities from events: the stages of each request, and all of its life.
--     devtrace sql t.db - <examples/stages.sql
DELETE FROM activities WHERE name LIKE 'request%';

-- from each of a request's events to its next one
INSERT INTO activities(name, begin, end, thread, core, key)
SELECT 'request: ' || before || ' to ' || event, since, time, thread, core, argument FROM (
	SELECT *, lag(event) OVER w AS before, lag(time) OVER w AS since
	FROM events WHERE subsystem = 'REQUEST'
	WINDOW w AS (PARTITION BY argument ORDER BY ticks))
WHERE before IS NOT NULL;

INSERT INTO activities(name, begin, end, thread, key)
SELECT 'request', min(time), max(time), min(thread), argument
FROM events WHERE subsystem = 'REQUEST' GROUP BY argument HAVING count(*) = 3;

SELECT name, count(*) AS times, min(duration), round(avg(duration)) AS mean, max(duration)
FROM activities WHERE name LIKE 'request%' GROUP BY name ORDER BY min(id);
