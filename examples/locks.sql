-- Activities from events: how long each lock was held, and waited for.
--     devtrace sql t.db - <examples/locks.sql
DELETE FROM activities WHERE name IN ('held', 'waited for');

-- From TAKEN to the next RELEASED of the same lock by the same thread. Not by any: a processor may
-- read the clock for TAKEN while pthread_mutex_lock still waits for the lock's memory, up to some
-- hundred ticks before the other's RELEASED (doc/events.md).
INSERT INTO activities(name, begin, end, thread, core, key)
SELECT 'held', since, time, thread, core, argument FROM (
	SELECT *, lag(event) OVER w AS before, lag(time) OVER w AS since
	FROM events WHERE subsystem = 'LOCK' AND event IN ('TAKEN', 'RELEASED')
	WINDOW w AS (PARTITION BY thread, argument ORDER BY ticks))
WHERE before = 'TAKEN' AND event = 'RELEASED';

-- from WANTED to the next TAKEN of the same lock by the same thread
INSERT INTO activities(name, begin, end, thread, core, key)
SELECT 'waited for', since, time, thread, core, argument FROM (
	SELECT *, lag(event) OVER w AS before, lag(time) OVER w AS since
	FROM events WHERE subsystem = 'LOCK'
	WINDOW w AS (PARTITION BY thread, argument ORDER BY ticks))
WHERE before = 'WANTED' AND event = 'TAKEN';

SELECT name, key AS lock, count(*) AS times, min(duration), round(avg(duration)) AS mean, max(duration)
FROM activities WHERE name IN ('held', 'waited for') GROUP BY 1, 2;
