-- Activities from PostgreSQL's own probes: each query, and its stages.
--     devtrace attach -d -s pg -o pg.db -F 'postgresql:*' POSTMASTER BACKEND...
--     devtrace sql pg.db - <examples/queries.sql
DELETE FROM activities WHERE name IN ('query', 'parse', 'rewrite', 'plan', 'execute');

-- query__start to query__done, query__plan__start to query__plan__done, and so on; of executions in
-- each other the inner one
INSERT INTO activities(name, begin, end, thread, core, key)
WITH
	probes AS (SELECT time, ticks, thread, core, process, substr(event, 12) AS probe
		FROM events WHERE kind = 'point' AND event LIKE 'postgresql:query%'),
	ends AS (SELECT *, probe LIKE '%done' AS done, replace(replace(probe, '__start', ''), '__done', '') AS stage FROM probes),
	pairs AS (SELECT *, lag(done) OVER w AS before, lag(time) OVER w AS since
		FROM ends WINDOW w AS (PARTITION BY thread, stage ORDER BY ticks))
SELECT replace(stage, 'query__', ''), since, time, thread, core, process FROM pairs WHERE done AND NOT before;

SELECT name, count(*) AS times, min(duration), round(avg(duration)) AS mean, max(duration)
FROM activities WHERE name IN ('query', 'parse', 'rewrite', 'plan', 'execute') GROUP BY name ORDER BY min(id);
