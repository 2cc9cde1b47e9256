//! stub
use iobound_record::Run;
/// stub
pub fn render(_run: &Run) -> String {
    String::new()
}
