//! Ports of other protocols that an HTTP request could be used to attack: the Fetch standard blocks them
//! (<https://fetch.spec.whatwg.org/#port-blocking>). For a host of apps the most important one is mail.

/// Sorted, for the binary search.
const BLOCKED: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Whether the port may be reached without being named.
pub(super) fn is_open(port: u16) -> bool {
    BLOCKED.binary_search(&port).is_err()
}

/// Whether an entry with this port, or none, reaches that port.
pub(super) fn allows(entry: Option<u16>, port: u16) -> bool {
    match entry {
        Some(entry) => entry == port,
        None => is_open(port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(BLOCKED.is_sorted());
        assert!(!is_open(25) && !is_open(10080) && !is_open(0));
        assert!(is_open(80) && is_open(443) && is_open(8080) && is_open(65535));
    }
}
