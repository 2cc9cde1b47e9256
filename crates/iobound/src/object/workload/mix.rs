//! Which operations, and how often each.

use std::str::FromStr;

/// An operation on an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A new object.
    Put,
    /// A whole object, checked.
    Get,
    /// The first page of the workload's own objects.
    List,
    /// An object of the workload's own.
    Delete,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Kind; 4] = [Kind::Put, Kind::Get, Kind::List, Kind::Delete];

    /// Its word on the command line and in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Put => "put",
            Kind::Get => "get",
            Kind::List => "list",
            Kind::Delete => "delete",
        }
    }

    /// Position in arrays kept per kind.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// Shares of the operations; they need not add up to anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix([f64; 4]);

impl Default for Mix {
    /// More is read than written, and as much is deleted as put, so that the number of objects holds.
    fn default() -> Self {
        Mix([20.0, 55.0, 5.0, 20.0])
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Mix, String> {
        let form = "write it as put=20,get=55,list=5,delete=20";
        let mut shares = [None; 4];
        for part in text.split(',').map(str::trim) {
            let (name, share) = part.split_once('=').ok_or(format!("'{part}' has no share; {form}"))?;
            let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name.trim().to_ascii_lowercase());
            let kind = kind.ok_or(format!("'{name}' is no operation; {form}"))?;
            let share: f64 = share.trim().parse().map_err(|_| format!("'{share}' is no number; {form}"))?;
            if !share.is_finite() || share < 0.0 {
                return Err(format!("{name}={share}: a share is 0 or more; {form}"));
            }
            if shares[kind.index()].replace(share).is_some() {
                return Err(format!("'{name}' is there twice; {form}"));
            }
        }
        let shares = shares.map(Option::unwrap_or_default);
        if shares.iter().sum::<f64>() <= 0.0 {
            return Err(format!("all shares are 0; {form}"));
        }
        Ok(Mix(shares))
    }
}

impl Mix {
    /// The share of one kind, 0 to 1.
    pub fn share(&self, kind: Kind) -> f64 {
        self.0[kind.index()] / self.0.iter().sum::<f64>()
    }

    /// The kind at a place between 0 and 1.
    pub(super) fn at(&self, place: f64) -> Kind {
        let mut left = place;
        let asked = Kind::ALL.into_iter().filter(|kind| self.share(*kind) > 0.0);
        let mut last = Kind::Put;
        for kind in asked {
            last = kind;
            left -= self.share(kind);
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_relative_and_what_is_left_out_is_not_done() {
        let mix: Mix = "put=1, get=3".parse().unwrap();
        assert_eq!((mix.share(Kind::Put), mix.share(Kind::Get), mix.share(Kind::List)), (0.25, 0.75, 0.0));
        assert_eq!((mix.at(0.2), mix.at(0.3), mix.at(0.9999)), (Kind::Put, Kind::Get, Kind::Get));
        let only: Mix = "list=7".parse().unwrap();
        assert_eq!((only.at(0.0), only.at(1.0)), (Kind::List, Kind::List));
    }

    #[test]
    fn what_is_no_mix_is_told() {
        for (text, words) in [
            ("", "no share"),
            ("get", "no share"),
            ("fetch=1", "no operation"),
            ("get=x", "no number"),
            ("get=-1", "0 or more"),
            ("get=NaN", "0 or more"),
            ("get=1,get=2", "twice"),
            ("get=0", "all shares are 0"),
        ] {
            let refused = text.parse::<Mix>().unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
