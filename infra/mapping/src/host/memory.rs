//! How much memory a process uses, from `/proc`.

/// The peak and the present resident memory of a process, in KB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) peak_kb: u64,
    pub(super) now_kb: u64,
}

/// Reads the figures of a process; `None` once it is gone.
pub(super) fn of(pid: u32) -> Option<Memory> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn parse(status: &str) -> Option<Memory> {
    let figure = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))?
            .trim()
            .strip_suffix(" kB")?
            .trim()
            .parse()
            .ok()
    };
    Some(Memory {
        peak_kb: figure("VmHWM:")?,
        now_kb: figure("VmRSS:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_and_present_memory_are_read_from_the_status() {
        let status =
            "Name:\tbootstrap\nVmPeak:\t  999 kB\nVmHWM:\t   12345 kB\nVmRSS:\t    2345 kB\n";
        assert_eq!(
            parse(status),
            Some(Memory {
                peak_kb: 12_345,
                now_kb: 2_345
            })
        );
        assert_eq!(parse("State:\tZ (zombie)\n"), None);
    }
}
