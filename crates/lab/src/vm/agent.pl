#!/usr/bin/perl
# The lab's agent inside the virtual machine: runs commands for the host over a virtio-serial port.
#
# Perl, since every Debian root has it. Frames, both ways: kind (1 byte), number of the command
# (4 bytes), length (4 bytes), both big-endian, then as many bytes.
#   from the host: R run (words, NUL between them)   I standard input   E its end   K signal (name)
#   to the host:   H hello (boot id)   O standard output   X standard error
#                  C ended ("code N" or "signal N")        F could not be started (why)
use strict;
use warnings;
use Fcntl qw(O_RDWR O_NONBLOCK F_SETFD FD_CLOEXEC);
use IO::Select;
use POSIX qw(WNOHANG);

use constant PORT        => '/dev/virtio-ports/iobound.agent';
use constant CHUNK       => 65536;
# The port's driver gives a page a read, so one wake-up is worth many reads.
use constant READS_AT_ONCE => 64;
# Standard input kept for a command that does not read it; above this the host has to wait.
use constant HELD_MAX    => 1 << 20;
# A daemon may keep the output of a command that has ended; nobody waits for it longer than this.
use constant LINGER_S    => 0.2;

$SIG{PIPE} = 'IGNORE';
# Only so that select() returns when a command ends.
$SIG{CHLD} = sub { };

my %commands;    # number => { pid, in, out, err, held, is_closing, ended, ended_at }
my $port;

sub send_frame {
    my ($kind, $number, $bytes) = @_;
    my $frame = pack('a N N', $kind, $number, length $bytes) . $bytes;
    my $at = 0;
    while ($at < length $frame) {
        my $wrote = syswrite $port, $frame, CHUNK, $at;
        if (!defined $wrote) {
            # Full: the host takes it in a moment.
            IO::Select->new($port)->can_write(1) if !$!{EINTR};
            next;
        }
        $at += $wrote;
    }
}

# Starts a command, in a process group of its own so that a signal reaches its children.
sub start {
    my ($number, @words) = @_;
    pipe(my $in_read,  my $in_write)  or die "pipe: $!";
    pipe(my $out_read, my $out_write) or die "pipe: $!";
    pipe(my $err_read, my $err_write) or die "pipe: $!";
    pipe(my $why_read, my $why_write) or die "pipe: $!";
    fcntl $_, F_SETFD, FD_CLOEXEC for $in_write, $out_read, $err_read, $why_read, $why_write;
    my $pid = fork;
    if (!defined $pid) {
        send_frame('F', $number, "fork: $!");
        return;
    }
    if ($pid == 0) {
        setpgrp 0, 0;
        $SIG{$_} = 'DEFAULT' for qw(PIPE CHLD);
        POSIX::dup2(fileno $in_read,   0);
        POSIX::dup2(fileno $out_write, 1);
        POSIX::dup2(fileno $err_write, 2);
        # All of the agent's descriptors are above 2; those without close-on-exec go here.
        close $_ for $in_read, $out_write, $err_write;
        chdir '/root';
        { no warnings 'exec'; exec { $words[0] } @words; }
        syswrite $why_write, "$words[0]: $!";
        POSIX::_exit(127);
    }
    close $_ for $in_read, $out_write, $err_write, $why_write;
    if (sysread $why_read, my $why, 4096) {
        waitpid $pid, 0;
        send_frame('F', $number, $why);
        return;
    }
    $in_write->blocking(0);
    $commands{$number} = {
        pid => $pid, in => $in_write, out => $out_read, err => $err_read, held => '', is_closing => 0,
    };
}

sub handle {
    my ($kind, $number, $bytes) = @_;
    if ($kind eq 'R') {
        start($number, split /\0/, $bytes, -1);
        return;
    }
    my $command = $commands{$number} or return;
    if    ($kind eq 'I') { $command->{held} .= $bytes if $command->{in} }
    elsif ($kind eq 'E') { $command->{is_closing} = 1 }
    elsif ($kind eq 'K') { kill "-$bytes", $command->{pid} }
}

# Gives a command more of its standard input.
sub feed {
    my ($command) = @_;
    if (length $command->{held}) {
        my $wrote = syswrite $command->{in}, $command->{held};
        if (defined $wrote) {
            substr($command->{held}, 0, $wrote, '');
        } elsif (!$!{EAGAIN} && !$!{EINTR}) {
            # It closed its standard input: the rest has no reader.
            $command->{held} = '';
            $command->{is_closing} = 1;
        }
    }
    if ($command->{is_closing} && !length $command->{held}) {
        close $command->{in};
        delete $command->{in};
    }
}

# Passes output on; false at its end.
sub forward {
    my ($number, $kind, $from) = @_;
    my $got = sysread $from, my $bytes, CHUNK;
    return 1 if !defined $got && ($!{EINTR} || $!{EAGAIN});
    return 0 if !$got;
    send_frame($kind, $number, $bytes);
    return 1;
}

# Notes who ended, and says so once their output is through.
sub bury {
    my $now = POSIX::times_now();
    while (my ($number, $command) = each %commands) {
        if (!defined $command->{ended} && waitpid($command->{pid}, WNOHANG) == $command->{pid}) {
            $command->{ended} = $? & 127 ? 'signal ' . ($? & 127) : 'code ' . ($? >> 8);
            $command->{ended_at} = $now;
        }
        next if !defined $command->{ended};
        my $is_through = !$command->{out} && !$command->{err};
        if ($is_through || $now - $command->{ended_at} > LINGER_S) {
            send_frame('C', $number, $command->{ended});
            delete $commands{$number};
        }
    }
}

# Seconds on a clock that nobody sets.
sub POSIX::times_now { (POSIX::times())[0] / POSIX::sysconf(POSIX::_SC_CLK_TCK()) }

sub serve {
    my $received = '';
    while (1) {
        my ($reads, $writes) = (IO::Select->new, IO::Select->new);
        my (%outputs, $is_full);
        while (my ($number, $command) = each %commands) {
            for (['out', 'O'], ['err', 'X']) {
                my ($name, $kind) = @$_;
                my $from = $command->{$name} or next;
                $reads->add($from);
                $outputs{fileno $from} = [$number, $name, $kind];
            }
            $is_full ||= length $command->{held} > HELD_MAX;
            if ($command->{in} && (length $command->{held} || $command->{is_closing})) {
                $writes->add($command->{in});
            }
        }
        $reads->add($port) if !$is_full;
        my ($ready, $free) = IO::Select->select($reads, $writes, undef, %commands ? 0.1 : 5);
        for my $handle (@{ $ready || [] }) {
            if ($handle == $port) {
                for my $i (1 .. READS_AT_ONCE) {
                    my $got = sysread $port, $received, CHUNK, length $received;
                    next if $got;
                    # The host has not opened its end yet, or is gone.
                    select undef, undef, undef, 0.05 if defined $got && $i == 1;
                    last;
                }
                next;
            }
            my ($number, $name, $kind) = @{ $outputs{fileno $handle} };
            next if forward($number, $kind, $handle);
            close $handle;
            delete $commands{$number}{$name};
        }
        my $at = 0;
        while (length($received) - $at >= 9) {
            my ($kind, $number, $length) = unpack 'a N N', substr $received, $at, 9;
            last if length($received) - $at < 9 + $length;
            handle($kind, $number, substr $received, $at + 9, $length);
            $at += 9 + $length;
        }
        substr($received, 0, $at, '') if $at;
        $_->{in} && feed($_) for values %commands;
        bury();
    }
}

# udev loads the port's driver; until then there is no port.
until (sysopen $port, PORT, O_RDWR | O_NONBLOCK) { select undef, undef, undef, 0.02 }
fcntl $port, F_SETFD, FD_CLOEXEC;
open my $boot_id, '<', '/proc/sys/kernel/random/boot_id' or die "boot id: $!";
chomp(my $boot = <$boot_id>);
close $boot_id;
send_frame('H', 0, $boot);
serve();
