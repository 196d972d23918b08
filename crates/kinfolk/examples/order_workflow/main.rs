//! Four orders through a workflow: `cargo run --example order_workflow -- [sqlite:FILE | postgres://…]`.
//!
//! The workflow is one async function, in `workflow.rs`. Wherever it awaits sub-tasks it is suspended, without a worker;
//! kill the program at any moment and start it again: it goes on where it was, and nothing recorded is done twice.

mod shop;
mod workflow;

use kinfolk::Kinfolk;
use shop::{Card, Item, Order, Shelf};
use workflow::ProcessOrder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:orders.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk
        .worker()
        .handle(workflow::process_order)
        .handle(shop::validate_order)
        .handle(shop::pack_item)
        .handle(shop::send_notification)
        .handle(shop::send_invoice)
        .handle(shop::finalize_order)
        .handle(shop::ask_for_review)
        .start()
        .await?;

    let item = |name: &str, cents, shelf| Item { name: name.to_owned(), cents, shelf };
    let (desk, lamp) = (item("desk", 19_900, Shelf::Smudged(1)), item("lamp", 4_900, Shelf::Full));
    let unicorn = item("unicorn", 99, Shelf::Empty);
    let orders = [
        ("Kari", "kari@example.com", vec![lamp.clone(), desk.clone()], Card::Flaky(1)),
        ("Odd", "odd@letters.invalid", vec![lamp.clone()], Card::Good),
        ("Liv", "liv@example.com", vec![unicorn, lamp.clone()], Card::Good),
        ("Per", "somewhere", vec![desk], Card::Good),
    ];
    let of = orders.len() as u32;
    let mut enqueued = Vec::new();
    for (number, (customer, mail, items, card)) in (1..).zip(orders) {
        let order = Order { number, customer: customer.into(), mail: mail.into(), items, card, day: 1, of };
        enqueued.push(kinfolk.enqueue_task(&ProcessOrder(order)).await?.id()?);
    }
    for id in enqueued {
        match kinfolk.result::<ProcessOrder>(id).await {
            Ok(done) => println!("{}: {} parcels, {} letters", done.receipt, done.parcels.len(), done.letters.len()),
            Err(fault) => println!("{fault}"),
        }
    }
    worker.stop().await?;
    Ok(())
}
