-- Per day and currency: how many changes of how many orders, and what was placed, confirmed, cancelled and rejected.
-- Sums are decimals: a sum of minor units may pass 64 bits.
SELECT
  dt,
  currency,
  COUNT(*) AS changes,
  COUNT(DISTINCT order_id) AS orders,
  COUNT(CASE WHEN placed THEN 1 END) AS placed,
  COALESCE(SUM(CASE WHEN placed THEN CAST(total_minor AS DECIMAL(38, 0)) END), 0) AS placed_minor,
  COUNT(CASE WHEN became = 'CONFIRMED' THEN 1 END) AS confirmed,
  COALESCE(SUM(CASE WHEN became = 'CONFIRMED' THEN CAST(total_minor AS DECIMAL(38, 0)) END), 0) AS confirmed_minor,
  COUNT(CASE WHEN became = 'CANCELLED' THEN 1 END) AS cancelled,
  COUNT(CASE WHEN became = 'REJECTED' THEN 1 END) AS rejected
FROM (
  SELECT
    dt, currency, order_id, total_minor,
    version = 1 AND event_name <> 'REMOVE' AS placed,
    CASE WHEN previous_status IS NULL OR previous_status <> status THEN status END AS became
  FROM order_timeline
) AS steps
GROUP BY dt, currency
