-- Per day and currency: how many payments were given back, and how much. A refund is of the whole payment, which is the order's total.
SELECT
  dt,
  currency,
  COUNT(*) AS refunds,
  COALESCE(SUM(CAST(total_minor AS DECIMAL(38, 0))), 0) AS refunded_minor
FROM order_changes
WHERE cause_kind IN ('RefundSucceeded', 'PaymentRefunded') AND event_name <> 'REMOVE'
GROUP BY dt, currency
