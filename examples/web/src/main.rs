//! The shop of `examples/web`: `ADMIN_PASSWORD=… cargo run -p kinfolk-example-web -- postgres://…`.

use std::env;

use kinfolk_example_web::Fault;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let url = env::args().nth(1).unwrap_or_else(|| "sqlite:shop.db".to_owned());
    let password =
        env::var("ADMIN_PASSWORD").map_err(|_| "set ADMIN_PASSWORD, which opens /admin to the user admin")?;
    let (router, worker) = kinfolk_example_web::open(&url, &password).await?;
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("http://{}", listener.local_addr()?);
    let served = tokio::spawn(axum::serve(listener, router).into_future());
    worker.run_until_signal().await?;
    served.abort();
    Ok(())
}
