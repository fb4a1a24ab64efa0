-- What happened to each order, who did it and why: one line a version, with the status before it.
SELECT
  order_id, version, event_time, event_name, cause_kind, cause_actor, cause_reason,
  LAG(status) OVER (PARTITION BY order_id ORDER BY version) AS previous_status,
  status, state, total_minor, currency, ttl_expired, event_id, sequence_number, dt
FROM order_changes
