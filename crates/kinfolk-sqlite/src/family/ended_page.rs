//! The order in which the children of awaited fan-outs have ended: their nths, a stretch in each row of the file.
//!
//! Places are given out at the end of the call that ended the children, by the writer, which is alone; within a call
//! they go by the children's own order.

use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;

/// Children in one row at most: rows stay small enough to lie in one page of the file.
const STRETCH: usize = 200;
const BYTES: usize = size_of::<u32>();

/// Gives the next places, from this one on, to these children.
pub(crate) fn append(conn: &Connection, fan_out_id: i64, first: u64, nths: &[u32]) -> Result<()> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out/last_page.sql"))?;
    let last: Option<(u64, Vec<u8>)> =
        statement.query_row([fan_out_id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let mut put = conn.prepare_cached(include_str!("../../sql/family/fan_out/put_page.sql"))?;
    let (mut start, mut row) = last.filter(|(_, row)| row.len() < STRETCH * BYTES).unwrap_or((first, Vec::new()));
    for nth in nths {
        row.extend(nth.to_le_bytes());
        if row.len() == STRETCH * BYTES {
            put.execute((fan_out_id, start, &row))?;
            start += STRETCH as u64;
            row.clear();
        }
    }
    if !row.is_empty() {
        put.execute((fan_out_id, start, &row))?;
    }
    Ok(())
}

/// The children that have ended, in that order, from a place on; as many as asked for.
pub(crate) fn read(conn: &Connection, fan_out_id: i64, from: u32, limit: usize) -> Result<Vec<u32>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out/pages.sql"))?;
    let mut rows = statement.query((fan_out_id, from))?;
    let mut nths = Vec::new();
    while nths.len() < limit
        && let Some(row) = rows.next()?
    {
        let (first, stretch): (u32, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let skipped = from.saturating_sub(first) as usize;
        nths.extend(stretch.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).skip(skipped));
    }
    nths.truncate(limit);
    Ok(nths)
}

/// Forgets all places of a fan-out.
pub(crate) fn remove(conn: &Connection, fan_out_id: i64) -> Result<()> {
    conn.prepare_cached(include_str!("../../sql/family/fan_out/remove_pages.sql"))?.execute([fan_out_id])?;
    Ok(())
}
