//! Prints the module graph of an app's entry: `cargo run -p hearth-apps --example graph -- FOLDER
//! ENTRY`.

use std::path::PathBuf;
use std::time::Instant;

use hearth_apps::AppModules;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(entry)) = (arguments.next(), arguments.next()) else {
        return Err("usage: graph FOLDER ENTRY".into());
    };
    let start = Instant::now();
    let app = AppModules::open(&folder, &entry)?;
    let count = app.preload()?;
    let time = start.elapsed();
    for (id, what) in app.loaded() {
        println!("{what:<40} {id}");
    }
    println!("{count} modules in {time:?}");
    Ok(())
}
