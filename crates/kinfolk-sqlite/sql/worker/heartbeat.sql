-- heartbeat: renew a lease; one that had run out makes its worker steady only from now on.
-- params: 1 worker, 2 now
-- index:  by id
update worker
set steady_since = iif(?2 > lease_until, ?2, steady_since),
    lease_until  = ?2 + lease
where id = ?1
