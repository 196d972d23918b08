-- The pages of `slot_holder`: who holds slots of which keys. Only who has a group's admission lock reads them to decide, and
-- writes them. Whoever else frees slots leaves a hint in `freed`, which the next one with the lock takes. So a holder is
-- who stands on a page and in no hint.
--
-- The page on which a task stands as a holder of a key; with the numbers from 0 below `spread` instead of a task's, those on which
-- all holders of the key stand.
create or replace function kinfolk.slot_page(
    p_key text, p_task bigint, p_first integer, p_pages integer, p_spread integer
) returns integer
language sql immutable
as $$ select p_first + (((hashtext(p_key) & 1073741823) + (p_task & (p_spread - 1))::integer) & (p_pages - 1)) $$;
