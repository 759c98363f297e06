//! Memory of the host.

use std::path::Path;

/// What the system lets this process have: free memory, and the limit of its control group. `None` where it does not say.
pub(crate) fn free_bytes() -> Option<u64> {
    let number = |path: &str| std::fs::read_to_string(Path::new(path)).ok()?.trim().parse::<u64>().ok();
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].map(number);
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
    limits.into_iter().chain([free]).flatten().min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_read_in_bytes() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:   24 kB\n"), Some(24 * 1024));
        assert_eq!(available("MemTotal:  9 kB\n"), None);
    }
}
