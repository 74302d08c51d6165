use serde_json::json;

use super::*;

#[test]
fn workers_are_a_table() {
    let workers: Vec<Worker> = serde_json::from_value(json!([{
        "id": "w1", "app": "hello", "version": "1.0.0", "status": "active", "state": "ready", "ageMs": 61_000, "idleMs": 0,
        "requestCount": 12, "errorCount": 1, "avgResponseTimeMs": 1.25, "totalResponseTimeMs": 15.0, "memoryBytes": 3_145_728,
    }]))
    .unwrap();
    let expected = "\
APP    VERSION  WORKER  STATUS    AGE  IDLE  REQUESTS  ERRORS  AVERAGE  MEMORY
hello  1.0.0    w1      active  1m 1s   0ms        12       1    1.2ms  3.0 MB
";
    assert_eq!(workers_text(&workers, Style::Plain), expected);
    assert_eq!(workers_text(&[], Style::Plain), "no workers");
}

#[test]
fn the_pool_is_a_list_and_its_owners_a_table() {
    let pool: Pool = serde_json::from_value(json!({
        "total": 1000, "cached": 3, "capacity": 997, "hit_rate": 0.5, "hits": 5, "misses": 5, "created": 9, "destroyed": 4,
        "live": 5, "evictions": 1, "running": 2, "queued": 0,
        "spares": { "wanted": 2, "ready": 1, "booting": 1, "taken": 0, "missed": 0, "failed": 0 },
        "memory": { "heaps": 1024, "heaps_budget": 2048, "buffers": 0, "budget": 4096 },
        "modes": {},
        "owners": { "me": { "running": 2, "queued": 0, "entered": 10, "refused": { "full": 1, "late": 2 }, "cached": 3,
                            "hits": 5, "misses": 5, "created": 3 } },
        "stuck": ["slow\n"],
    }))
    .unwrap();
    let expected = "\
workers     3 warm of 1000, room for 997 more
requests    2 running, 0 waiting
found warm  5 of 10
isolates    5 live, 9 made, 1 workers evicted
spares      1 ready of 2
heaps       1.0 kB of 2.0 kB
memory      1.0 kB of 4.0 kB

OWNER  RUNNING  WAITING  SERVED  REFUSED  WARM  FOUND WARM
me           2        0      10        3     3     5 of 10

stuck: slow\\n
";
    assert_eq!(pool_text(&pool, Style::Plain), expected);
}

#[test]
fn crashes_have_their_last_words() {
    let crash = Crash {
        time: 0,
        cell: 1,
        status: "signal 6".into(),
        last_words: vec!["# Fatal\x1b[2J".into()],
        app: Some("shop".into()),
        version: Some("1.0.0".into()),
        owner: Some("ann\x1b[2J".into()),
        request_id: Some("f00".into()),
        phase: Some("wait_until".into()),
    };
    let expected = "\
1970-01-01T00:00:00.000Z cell 1: signal 6
  by shop@1.0.0 of ann\\u{1b}[2J, wait until of request f00
  # Fatal\\u{1b}[2J
";
    assert_eq!(crashes_text(&[crash], Style::Plain), expected);
    assert_eq!(crashes_text(&[], Style::Plain), "no crashes");
}
