-- Each version of each order once, rows too large for Firehose and rows without a known day included.
-- A row can be written twice (Firehose delivers at least once), and a backfill repeats what the stream brought: the stream's row is shown.
SELECT
  event_id, event_name, order_id, version, event_time, status, state, cause_kind, cause_actor, cause_reason, total_minor, currency,
  new_image, old_image, sequence_number, ttl_expired, dt
FROM (
  SELECT
    written.*,
    ROW_NUMBER() OVER (
      PARTITION BY order_id, version
      ORDER BY CASE WHEN event_id IS NULL THEN 1 ELSE 0 END, event_time, event_id, sequence_number
    ) AS occurrence
  FROM (
    SELECT
      event_id, event_name, order_id, version, event_time, status, state, cause_kind, cause_actor, cause_reason, total_minor, currency,
      new_image, old_image, sequence_number, ttl_expired, CAST(dt AS VARCHAR) AS dt
    FROM changes
    UNION ALL
    SELECT
      event_id, event_name, order_id, version, event_time, status, state, cause_kind, cause_actor, cause_reason, total_minor, currency,
      new_image, old_image, sequence_number, ttl_expired, 'unknown' AS dt
    FROM undated_changes
    UNION ALL
    SELECT
      event_id, event_name, order_id, version, event_time, status, state, cause_kind, cause_actor, cause_reason,
      CAST(total_minor AS BIGINT) AS total_minor, currency, new_image, old_image, sequence_number, ttl_expired, CAST(dt AS VARCHAR) AS dt
    FROM oversize_changes
  ) AS written
) AS numbered
WHERE occurrence = 1
