//! From measurements to judgements: pure functions of the record.
//!
//! [`judge`] may be called again at any time: it starts from the measurements and replaces whatever
//! was said before.

mod ceilings;
mod checks;
mod roofline;
mod rules;
mod says;
mod stream;

use iobound_model::statistics::is_steady;
use iobound_record::Run;

pub(crate) use ceilings::bound_in_words;
pub use roofline::{Bound, Roofline};

/// Says of every scenario what binds it, of the run what was noticed, and sums it up.
pub fn judge(run: &mut Run) {
    for scenario in &mut run.scenarios {
        if let Some(measurement) = &mut scenario.measurement {
            measurement.steady = is_steady(&measurement.series);
            if let Some(stream) = &mut scenario.stream {
                stream::analyse(stream, measurement, run.host.cpus);
            }
        }
    }
    ceilings::hold(run);
    let roofline = Roofline::of_reads(run);
    run.findings = rules::findings(run);
    says::verdicts(run, roofline.as_ref());
    run.conclusions = says::conclusions(run, roofline.as_ref());
}
