//! What a program needs of the C library: the versioned symbols that it imports, read from the ELF file itself.

use std::fmt;

use anyhow::{Context, Result};
use object::elf::{FileHeader64, SHT_DYNSYM};
use object::endian::Endianness;
use object::read::elf::{FileHeader, Sym};

/// A version of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

/// What `provided.al2023` has: Amazon Linux 2023 comes with glibc 2.34 (AWS, "Lambda runtimes" and "Comparing AL2 and AL2023").
pub(crate) const LAMBDA: Version = Version(2, 34, 0);

/// A symbol that must come from the C library, in the least version that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) symbol: String,
    pub(crate) version: Version,
}

/// The imported symbols with a GLIBC version, in the file's order. A static program has none.
///
/// # Errors
/// The bytes are no 64-bit ELF file, or a damaged one.
pub(crate) fn needs(program: &[u8]) -> Result<Vec<Need>> {
    let header = FileHeader64::<Endianness>::parse(program).context("no 64-bit ELF file")?;
    let endian = header.endian()?;
    let sections = header.sections(endian, program)?;
    let Some(versions) = sections.versions(endian, program)? else {
        return Ok(Vec::new());
    };
    let symbols = sections.symbols(endian, program, SHT_DYNSYM)?;
    let mut needs = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        if !symbol.is_undefined(endian) {
            continue;
        }
        let Some(version) = versions.version(versions.version_index(endian, index).index())? else {
            continue;
        };
        let Some(version) = Version::parse(&String::from_utf8_lossy(version.name())) else {
            continue;
        };
        let symbol = String::from_utf8_lossy(symbols.symbol_name(endian, symbol)?).into_owned();
        needs.push(Need { symbol, version });
    }
    Ok(needs)
}

impl Version {
    /// From the name of a symbol version such as `GLIBC_2.2.5`. `GLIBC_PRIVATE` belongs to no version that a program may use.
    fn parse(name: &str) -> Option<Self> {
        let numbers = name.strip_prefix("GLIBC_")?;
        let Ok(numbers) = numbers
            .split('.')
            .map(str::parse)
            .collect::<Result<Vec<u32>, _>>()
        else {
            return Some(Self(u32::MAX, 0, 0));
        };
        let at = |place| numbers.get(place).copied().unwrap_or(0);
        Some(Self(at(0), at(1), at(2)))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(u32::MAX, ..) => write!(f, "PRIVATE"),
            Self(major, minor, 0) => write!(f, "{major}.{minor}"),
            Self(major, minor, patch) => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@GLIBC_{}", self.symbol, self.version)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The smallest ELF file that imports these symbols: a header, and the four sections that name imports and their versions.
    pub(crate) fn program(imports: &[(&str, &str)]) -> Vec<u8> {
        let mut strings = b"\0libc.so.6\0".to_vec();
        let mut intern = |text: &str| {
            let at = u32::try_from(strings.len()).unwrap();
            strings.extend(text.bytes().chain([0]));
            at
        };
        let mut symbols = vec![0_u8; 24];
        let mut versions = vec![0_u8; 2];
        let mut needed = Vec::new();
        for (place, (symbol, version)) in imports.iter().enumerate() {
            let index = u16::try_from(place).unwrap() + 2;
            // st_name, global function, default visibility, undefined section, value, size.
            symbols.extend(
                intern(symbol)
                    .to_le_bytes()
                    .into_iter()
                    .chain([0x12, 0])
                    .chain([0; 18]),
            );
            versions.extend(index.to_le_bytes());
            let next: u32 = if place + 1 < imports.len() { 16 } else { 0 };
            needed.extend(
                [0_u8; 4]
                    .into_iter()
                    .chain([0, 0])
                    .chain(index.to_le_bytes())
                    .chain(intern(version).to_le_bytes())
                    .chain(next.to_le_bytes()),
            );
        }
        // vn_version 1, one entry for each import, of the file at string 1, entries right behind.
        let count = u16::try_from(imports.len()).unwrap();
        let mut need: Vec<u8> = [1_u16.to_le_bytes(), count.to_le_bytes()].concat();
        need.extend([1_u32, 16, 0].map(u32::to_le_bytes).concat());
        need.extend(needed);

        // (sh_type, contents, sh_link, sh_info, sh_entsize); section 1 is the symbols, 2 their strings.
        let mut sections: Vec<(u32, Vec<u8>, u32, u32, u64)> = vec![(0, Vec::new(), 0, 0, 0)];
        if !imports.is_empty() {
            sections.push((11, symbols, 2, 1, 24));
            sections.push((3, strings, 0, 0, 0));
            sections.push((0x6fff_ffff, versions, 1, 0, 2));
            sections.push((0x6fff_fffe, need, 2, 1, 0));
        }
        // The strings of the section names: all sections are called "".
        let names = u16::try_from(sections.len()).unwrap();
        sections.push((3, vec![0], 0, 0, 0));
        let table = 64_u64;
        let mut offset = table + 64 * sections.len() as u64;
        let mut file = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 9]].concat();
        file.extend([3_u16, 62].map(u16::to_le_bytes).concat());
        file.extend(1_u32.to_le_bytes());
        file.extend([0_u64, 0, table].map(u64::to_le_bytes).concat());
        file.extend(0_u32.to_le_bytes());
        file.extend(
            [64_u16, 0, 0, 64, names + 1, names]
                .map(u16::to_le_bytes)
                .concat(),
        );
        for (kind, contents, link, info, entry) in &sections {
            file.extend([0_u32, *kind].map(u32::to_le_bytes).concat());
            file.extend(
                [0_u64, 0, offset, contents.len() as u64]
                    .map(u64::to_le_bytes)
                    .concat(),
            );
            file.extend([*link, *info].map(u32::to_le_bytes).concat());
            file.extend([1_u64, *entry].map(u64::to_le_bytes).concat());
            offset += contents.len() as u64;
        }
        file.extend(sections.into_iter().flat_map(|section| section.1));
        file
    }

    #[test]
    fn imported_symbols_come_with_their_versions() {
        let needs = needs(&program(&[
            ("memcpy", "GLIBC_2.14"),
            ("_Unwind_Resume", "GCC_3.0"),
            ("stat", "GLIBC_2.2.5"),
        ]))
        .unwrap();
        let told: Vec<_> = needs.iter().map(Need::to_string).collect();
        assert_eq!(told, ["memcpy@GLIBC_2.14", "stat@GLIBC_2.2.5"]);
    }

    #[test]
    fn versions_are_compared_by_number() {
        let version = |name| Version::parse(name).unwrap();
        assert!(version("GLIBC_2.4") < LAMBDA);
        assert!(version("GLIBC_2.34") <= LAMBDA);
        assert!(version("GLIBC_2.38") > LAMBDA);
        assert!(version("GLIBC_PRIVATE") > LAMBDA);
    }

    #[test]
    fn own_program_is_readable() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!needs(&own).unwrap().is_empty() || cfg!(target_env = "musl"));
    }
}
